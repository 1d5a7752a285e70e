"""What commands do that takes several rooms: builds, streams, the main job, packing, this machine."""
