"""archeng."""
