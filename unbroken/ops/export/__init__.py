"""The cluster for those who deploy without this project: plain templates, or HyperPod's own files."""
