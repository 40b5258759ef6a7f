"""What Amazon FSx offers: sizes, throughputs and options of its file systems.

CloudFormation checks none of it before the file system is created.
"""
