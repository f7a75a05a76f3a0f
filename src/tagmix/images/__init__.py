"""Pictures: from files to arrays."""
