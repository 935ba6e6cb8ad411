# Prepares a VM: its end, sshd, a folder for the agent, latte. It runs once, as SYSTEM.
$ErrorActionPreference = 'Stop'

# First the end: the VM shuts itself down when its time is over, also if it was off at that moment.
$at = [DateTimeOffset]::Parse('${expires}').LocalDateTime
Register-ScheduledTask -TaskName nearfar-expires -User SYSTEM -Force `
  -Action (New-ScheduledTaskAction -Execute shutdown.exe -Argument '/s /f /t 0') `
  -Trigger (New-ScheduledTaskTrigger -Once -At $at) `
  -Settings (New-ScheduledTaskSettingsSet -StartWhenAvailable)

# sshd, which takes the keys of administrators from this file if nobody else may write it.
Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0
Set-Service sshd -StartupType Automatic
Start-Service sshd
$keys = 'C:\ProgramData\ssh\administrators_authorized_keys'
Set-Content -Path $keys -Value '${public_key}' -Encoding ascii
icacls $keys /inheritance:r /grant 'Administrators:F' /grant 'SYSTEM:F'

# The VMs of the virtual network may reach each other: the tools use several ports.
New-NetFirewallRule -DisplayName nearfar -Direction Inbound -Action Allow -RemoteAddress 10.0.0.0/16
New-NetFirewallRule -DisplayName nearfar-ssh -Direction Inbound -Action Allow -Protocol TCP -LocalPort 22

New-Item -ItemType Directory -Force C:\nearfar, C:\tools
[Net.ServicePointManager]::SecurityProtocol = 'Tls12'
# Under another name until its hash is the one of the user's own download.
Invoke-WebRequest -UseBasicParsing -OutFile C:\tools\latte.new -Uri '${latte_url}'
$hash = (Get-FileHash -Algorithm SHA256 C:\tools\latte.new).Hash
if ($hash -ne '${latte_sha256}') {
  Remove-Item C:\tools\latte.new
  throw "latte from ${latte_url} has the SHA-256 $hash, and not ${latte_sha256}: it is not installed"
}
Move-Item -Force C:\tools\latte.new C:\tools\latte.exe
Set-Content -Path C:\tools\latte.sha256 -Value $hash -Encoding ascii
"latte from ${latte_url} has the SHA-256 $hash"
