"""The instructions that ship with Judgewright, one YAML file each; `judges/instruction.py` reads
them.
"""
