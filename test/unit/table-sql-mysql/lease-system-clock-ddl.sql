CREATE TABLE IF NOT EXISTS `jobs` (
  `id` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (UUID()),
  `due` DATETIME(6) NULL,
  `lease` DATETIME(6) NULL,
  PRIMARY KEY (`id`),
  INDEX `jobs_claim_idx` (`due`, `id`)
) ENGINE = InnoDB;
