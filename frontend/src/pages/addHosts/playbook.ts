import { quoted } from '../../lib/text/quoting'

interface PlaybookInputs {
  /** The agent's settings file. */
  settings: string
  token: string
  /** Where the program and its unit lie, beside the playbook. */
  folder: string
}

/** A text as a string of YAML that Ansible takes as it is: it neither ends early nor is read as a template. */
export function plainValue(text: string): string {
  return `!unsafe ${quoted(text)}`
}

/** An Ansible playbook that installs the agent with its unit and starts it. All values are quoted. */
export function playbook({ settings, token, folder }: PlaybookInputs): string {
  return `---
- name: "Tierscope agent"
  hosts: "all"
  become: true
  vars:
    join_token: ${plainValue(`${token}\n`)}
    agent_settings: ${plainValue(settings)}
  tasks:
    - name: "Install the program"
      ansible.builtin.copy:
        src: ${quoted(`${folder}/tierscope-agent`)}
        dest: "/usr/local/bin/tierscope-agent"
        mode: "0755"
      notify: "Restart the agent"
    - name: "Install the unit"
      ansible.builtin.copy:
        src: ${quoted(`${folder}/tierscope-agent.service`)}
        dest: "/etc/systemd/system/tierscope-agent.service"
        mode: "0644"
      notify: "Restart the agent"
    - name: "Make the directory of settings"
      ansible.builtin.file:
        path: "/etc/tierscope"
        state: "directory"
        mode: "0755"
    - name: "Write the join token"
      ansible.builtin.copy:
        content: "{{ join_token }}"
        dest: "/etc/tierscope/join-token"
        mode: "0600"
      no_log: true
    - name: "Write the settings"
      ansible.builtin.copy:
        content: "{{ agent_settings }}"
        dest: "/etc/tierscope/agent.toml"
        mode: "0644"
      notify: "Restart the agent"
    - name: "Start the agent, now and at boot"
      ansible.builtin.systemd:
        name: "tierscope-agent"
        enabled: true
        state: "started"
        daemon_reload: true
  handlers:
    - name: "Restart the agent"
      ansible.builtin.systemd:
        name: "tierscope-agent"
        state: "restarted"
        daemon_reload: true
`
}
