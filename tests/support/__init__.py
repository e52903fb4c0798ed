"""What tests share: waiting for a condition, temporary state folders, stand-ins."""
