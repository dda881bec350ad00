IF OBJECT_ID(N'[jobs]', N'U') IS NULL
CREATE TABLE [jobs] (
  [id] smallint IDENTITY(1, 1) NOT NULL,
  [key] varbinary(max) NULL,
  [pay] nvarchar(max) NOT NULL,
  PRIMARY KEY ([id])
);
