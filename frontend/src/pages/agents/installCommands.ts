/**
 * The commands that enrol a host: the token into a file that root alone may read, the settings beside it, the unit
 * that keeps the agent running. `server` is the origin of this dashboard.
 */
export function installCommands(server: string, token: string): string {
  return [
    'install -D -m 0755 tierscope-agent /usr/local/bin/tierscope-agent',
    'install -d -m 0755 /etc/tierscope',
    `(umask 077; printf '%s\\n' '${token}' > /etc/tierscope/join-token)`,
    `printf 'server = "%s"\\njoin_token_file = "/etc/tierscope/join-token"\\n' '${server}' > /etc/tierscope/agent.toml`,
    'install -m 0644 tierscope-agent.service /etc/systemd/system/',
    'systemctl daemon-reload && systemctl enable --now tierscope-agent',
  ].join('\n')
}
