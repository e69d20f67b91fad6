"""What somebody with the release could find out."""
