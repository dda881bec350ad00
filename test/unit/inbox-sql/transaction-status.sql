-- xact
SELECT pg_xact_status($1::text::xid8) AS status
