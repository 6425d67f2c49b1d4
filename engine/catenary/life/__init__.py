"""The life of chains: loading, reloading, stopping, and keeping them as the files of a folder are."""
