"""Contacts: which residues of a protein or an RNA touch, from an alignment of its family."""
