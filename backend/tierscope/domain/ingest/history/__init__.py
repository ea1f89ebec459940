"""What other programs recorded on a host before anything of ours ran there, as series of samples."""
