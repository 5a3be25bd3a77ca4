"""Diagnosis: is everything that Tablewatch needs in order, and what to do where it is not.

    diagnosis ─> Finding(status, subject, advice)        config_checks: `config check --deep`

In: the installation, the configuration, the store, the sources. Out: findings. Read `diagnosis`.
"""
