"""Keywords and regions in the metadata of photos: in the photo itself and in its sidecar."""
