"""Checks a template of CloudFormation with cfn-lint. Prints what is wrong, and then ends with another code than 0."""
from cfnlint.runner import main

main()
