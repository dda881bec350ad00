-- unlock: lock
SET NOCOUNT ON;
DECLARE @lock nvarchar(255) = @p1, @released int = 0;
IF APPLOCK_MODE(N'public', @lock, N'Session') = N'Exclusive'
BEGIN
EXEC @released = sp_releaseapplock @Resource = @lock, @LockOwner = N'Session';
SET @released = CASE WHEN @released = 0 THEN 1 ELSE 0 END;
END;
SELECT @released AS released;
