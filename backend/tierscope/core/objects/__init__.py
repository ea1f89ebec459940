"""Objects by key, in a directory or in a bucket that speaks S3."""
