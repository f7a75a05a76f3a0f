"""Rivals: one method, one file, one paper."""
