"""The judges that ship with Judgewright, one YAML file each."""
