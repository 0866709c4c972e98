"""
What a guest is told at boot: user data that makes a virtual machine a CircleCI machine runner for one task.

`guest.sh` does the work inside the guest and says on its console how each step went; `userdata` wraps it with the
runner's configuration for cloud-init, and `masking` takes secrets out of a text that people may see.
"""
