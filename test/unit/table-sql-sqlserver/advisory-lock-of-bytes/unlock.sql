-- unlock: lock
SET NOCOUNT ON;
SET XACT_ABORT OFF;
DECLARE @lock nvarchar(255) = @p1, @released int = 0;
BEGIN TRY
EXEC @released = sp_releaseapplock @Resource = @lock, @LockOwner = N'Session';
SET @released = CASE WHEN @released = 0 THEN 1 ELSE 0 END;
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1223 THROW;
SET @released = 0;
END CATCH;
SELECT @released AS released;
