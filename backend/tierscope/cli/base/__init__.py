"""What every command stands on: exit statuses, the database, the instance that runs here."""
