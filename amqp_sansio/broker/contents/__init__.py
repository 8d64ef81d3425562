"""Contents: messages in the encodings of the versions, one class for each; `content` has their interface."""
