"""What every room may use: settings, errors, the database connection, clock, logs. Knows no memory tiering."""
