"""The database and the queue that `tierscope up` runs for itself: found, set up, started, watched and stopped here."""
