"""Full views and dialogs."""
