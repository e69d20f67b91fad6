"""The artifact of the central model: leaves, questions, merging, files, pictures."""
