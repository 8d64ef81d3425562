"""Contents: messages in the encodings of the versions, one class for each; `content` says what they have in common."""
