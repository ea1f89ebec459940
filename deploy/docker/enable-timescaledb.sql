-- Runs once, when the database is made.
CREATE EXTENSION IF NOT EXISTS timescaledb;
