"""Settings, user folders, and the finding of shipped themes and sessions."""
