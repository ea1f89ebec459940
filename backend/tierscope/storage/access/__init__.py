"""Who may do what: people, their programs, secrets and permissions."""
