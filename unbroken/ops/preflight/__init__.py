"""The verb `preflight`: everything that can be known before a deployment, and nothing made."""
