"""Soldaini and Moschitti, ACL 2020: one encoder that prunes its own candidates."""
