CREATE TABLE IF NOT EXISTS `jobs` (
  `id` BIGINT NOT NULL AUTO_INCREMENT,
  `grp` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `due` DATETIME(6) NULL,
  `att` SMALLINT NOT NULL DEFAULT 1,
  `pay` JSON NOT NULL,
  `lease` DATETIME(6) NULL,
  `prio` INT NULL,
  PRIMARY KEY (`id`),
  INDEX `jobs_claim_idx` (`grp`, `prio`, `due`, `id`)
) ENGINE = InnoDB;
