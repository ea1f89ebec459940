import type { ServerAddress } from '../../lib/fleet/serverAddress'
import { quoted, shellWord } from '../../lib/text/quoting'
import type { InstallWay } from '../../lib/url/addHostsUrl'
import type { InstallStep } from './installStep'
import { prometheusSteps } from './prometheusSteps'
import { playbook } from './playbook'

/** What stands in commands where no token was made yet. */
export const tokenPlaceholder = 'PASTE_TOKEN_HERE'

/** What the commands depend on. */
export interface InstallInputs {
  server: ServerAddress
  /** The join token, or for Prometheus the API token; the placeholder while there is none. */
  token: string
  /** Programs whose pages are sampled, as the agent's `heat.programs` takes them. */
  programs: string[]
}

const clone = 'in a clone of the Tierscope repository'
const folder = 'tierscope-install'
const eachHost = 'on each host, as root'

/** The agent's settings file. */
export function agentToml({ server, programs }: InstallInputs): string {
  const heat =
    programs.length === 0
      ? ['# Whose pages are sampled; without it no heat is measured:', '# programs = ["redis-server"]']
      : [`programs = [${programs.map(quoted).join(', ')}]`]
  return [
    `server = ${quoted(server.base)}`,
    ...(server.needsAllowHttp ? ['allow_http = true'] : []),
    'join_token_file = "/etc/tierscope/join-token"',
    '',
    '[heat]',
    ...heat,
  ].join('\n')
}

/** The token in a file that root alone may read, and the settings beside it. */
function writeSettings(inputs: InstallInputs): string[] {
  return [
    'install -d -m 0755 /etc/tierscope',
    `(umask 077; printf '%s\\n' ${shellWord(inputs.token)} > /etc/tierscope/join-token)`,
    "cat > /etc/tierscope/agent.toml <<'EOF'",
    agentToml(inputs),
    'EOF',
  ]
}

const build: InstallStep = {
  title: 'Build the agent once',
  where: clone,
  note: 'No built program is published: it is compiled from the repository (Rust; static where the musl target is installed). SHA256SUMS lets each host check what it received.',
  text: [
    'deploy/dev/build-agent.sh',
    `mkdir -p ${folder}`,
    `cp "$(deploy/dev/build-agent.sh --print-path)" deploy/systemd/tierscope-agent.service ${folder}/`,
    `(cd ${folder} && sha256sum tierscope-agent tierscope-agent.service > SHA256SUMS)`,
  ].join('\n'),
}

const check: InstallStep = {
  title: 'Check',
  where: eachHost,
  note: '`doctor` says which counters and heat back ends this kernel offers, and what better ones lack.',
  text: ['systemctl --no-pager status tierscope-agent', 'tierscope-agent doctor'].join('\n'),
}

function systemdSteps(inputs: InstallInputs): InstallStep[] {
  return [
    build,
    {
      title: 'Copy it to the host',
      where: clone,
      note: 'Write the host’s name for HOST.',
      text: `scp -r ${folder} root@HOST:`,
    },
    {
      title: 'Install and start',
      where: eachHost,
      note: 'The program is not installed unless the checksums match. The unit is deploy/systemd/tierscope-agent.service, with limits on CPU and memory.',
      text: [
        `cd ~/${folder} && sha256sum --check SHA256SUMS && install -D -m 0755 tierscope-agent /usr/local/bin/tierscope-agent &&`,
        '  install -m 0644 tierscope-agent.service /etc/systemd/system/',
        ...writeSettings(inputs),
        'systemctl daemon-reload && systemctl enable --now tierscope-agent',
      ].join('\n'),
    },
    check,
  ]
}

function debSteps(inputs: InstallInputs): InstallStep[] {
  return [
    {
      title: 'Build the package once',
      where: clone,
      note: 'No package is published: make dist compiles the agent and packs it with its unit into .build/dist/packages.',
      text: [
        'make dist ARGS="wheels packages"',
        '(cd .build/dist/packages && sha256sum tierscope-agent_*.deb > SHA256SUMS)',
        'scp .build/dist/packages/tierscope-agent_*.deb .build/dist/packages/SHA256SUMS root@HOST:',
      ].join('\n'),
    },
    {
      title: 'Install and start',
      where: `${eachHost}, Debian or a derivative`,
      note: 'The package is not installed unless the checksum matches. It starts nothing before its settings name a service.',
      text: [
        'cd ~ && sha256sum --check SHA256SUMS && apt-get install --yes ./tierscope-agent_*.deb',
        ...writeSettings(inputs),
        'systemctl enable --now tierscope-agent',
      ].join('\n'),
    },
    check,
  ]
}

/** Text for the replacement of a `sed` command that is delimited by `|`. */
function sedText(text: string): string {
  return text.replace(/[\\|&]/g, (found) => `\\${found}`)
}

function kubernetesSteps({ server, token, programs }: InstallInputs): InstallStep[] {
  const address = `server = ${quoted(server.base)}${server.needsAllowHttp ? '\n    allow_http = true' : ''}`
  const edits = [
    ['server = "https://tierscope.example"', address],
    ...(programs.length === 0 ? [] : [['programs = \\[\\]', `programs = [${programs.map(quoted).join(', ')}]`]]),
  ].map(([from = '', to = '']) => shellWord(`s|${from}|${sedText(to).replaceAll('\n', '\\n')}|`))
  return [
    {
      title: 'Build the image once',
      where: clone,
      note: 'No image is published: this one is compiled from the clone, and holds the agent alone. Set your registry; nodes pull the image by the digest that the registry checks.',
      text: [
        'image=registry.example/tierscope/agent:0.1.0   # your registry',
        'docker build --file deploy/docker/Dockerfile --target agent --tag "$image" . && docker push "$image"',
      ].join('\n'),
    },
    {
      title: 'Store the join token',
      where: 'with kubectl',
      note: 'One use per node: create the token for as many hosts as the cluster has nodes.',
      text: [
        'kubectl create namespace tierscope --dry-run=client --output yaml | kubectl apply -f -',
        `kubectl -n tierscope create secret generic tierscope-join --from-literal=token=${shellWord(token)}`,
      ].join('\n'),
    },
    {
      title: 'Apply the DaemonSet',
      where: clone,
      note: 'deploy/kubernetes/agent-daemonset.yaml runs the agent on every node, without privileged mode and without rights in Kubernetes. Heat is measured of containers with `env: [{name: TIERSCOPE_HEAT, value: "1"}]`.',
      text: [
        `sed -e ${edits.join(' \\\n    -e ')} \\`,
        '    -e "s|image: tierscope/agent:.*|image: $image|" deploy/kubernetes/agent-daemonset.yaml | kubectl apply -f -',
        'kubectl -n tierscope rollout status daemonset/tierscope-agent',
      ].join('\n'),
    },
  ]
}

function ansibleSteps(inputs: InstallInputs): InstallStep[] {
  return [
    build,
    {
      title: 'Save the playbook',
      where: `beside the folder ${folder}`,
      note: 'It holds the join token: encrypt it with ansible-vault where others can read it.',
      file: 'tierscope-agents.yaml',
      text: playbook({ settings: `${agentToml(inputs)}\n`, token: inputs.token, folder }),
    },
    {
      title: 'Run it',
      where: 'on the machine that runs Ansible',
      note: 'The checksums are checked first. Limit it to one host before all of them.',
      text: [
        `(cd ${folder} && sha256sum --check SHA256SUMS) &&`,
        '  ansible-playbook --inventory hosts.ini tierscope-agents.yaml',
      ].join('\n'),
    },
  ]
}

const ways: Record<InstallWay, (inputs: InstallInputs) => InstallStep[]> = {
  systemd: systemdSteps,
  deb: debSteps,
  kubernetes: kubernetesSteps,
  ansible: ansibleSteps,
  prometheus: ({ server, token }) => prometheusSteps(server.base, token),
}

/** All that has to be copied to add hosts in one of the ways, in order. */
export function installSteps(way: InstallWay, inputs: InstallInputs): InstallStep[] {
  return ways[way](inputs)
}
