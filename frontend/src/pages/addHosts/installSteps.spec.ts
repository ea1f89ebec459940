import { describe, expect, it } from 'vitest'
import { readServer, type ServerAddress } from '../../lib/fleet/serverAddress'
import { installWays } from '../../lib/url/addHostsUrl'
import { agentToml, installSteps, type InstallInputs } from './installSteps'
import { playbook } from './playbook'

function inputs(address: string, programs: string[] = []): InstallInputs {
  return { server: readServer(address) as ServerAddress, token: 'tsj_abc', programs }
}

const textOf = (way: (typeof installWays)[number], given: InstallInputs): string =>
  installSteps(way, given)
    .map(({ text }) => text)
    .join('\n')

describe('the commands that add hosts', () => {
  it('carry token and address in every way', () => {
    for (const way of installWays) {
      const text = textOf(way, inputs('https://tier.example'))
      expect(text, way).toContain('tsj_abc')
      expect(text, way).toContain('https://tier.example')
      expect(text, way).not.toContain('127.0.0.1')
    }
  })

  it('check what was copied before it is installed', () => {
    for (const way of ['systemd', 'deb', 'ansible'] as const) {
      expect(textOf(way, inputs('https://tier.example')), way).toMatch(/sha256sum --check SHA256SUMS\)? &&/)
    }
  })

  it('allow plain http only where the address needs it', () => {
    expect(agentToml(inputs('http://10.0.0.7:8480'))).toContain('\nallow_http = true\n')
    expect(agentToml(inputs('https://tier.example'))).not.toContain('allow_http')
    expect(textOf('kubernetes', inputs('http://10.0.0.7:8480'))).toContain('\\n    allow_http = true|')
  })

  it('list the programs whose heat is measured, as strings', () => {
    expect(agentToml(inputs('https://t.example', ['redis-server', 'a"b']))).toContain(
      'programs = ["redis-server", "a\\"b"]',
    )
    expect(agentToml(inputs('https://t.example'))).toContain('# programs = ')
    expect(textOf('kubernetes', inputs('https://t.example', ["it's|a&b"]))).toContain(
      `'s|programs = \\[\\]|programs = ["it'\\''s\\|a\\&b"]|'`,
    )
  })

  it('make a playbook whose values cannot end early or turn into templates', () => {
    const hostile = 'a" # b: {{ lookup("pipe", "id") }}\nc'
    const text = playbook({ settings: hostile, token: hostile, folder: 'x' })
    const settings = /^ {4}agent_settings: !unsafe (".*")$/m.exec(text)?.[1] ?? ''
    const token = /^ {4}join_token: !unsafe (".*")$/m.exec(text)?.[1] ?? ''
    expect(JSON.parse(settings)).toBe(hostile)
    expect(JSON.parse(token)).toBe(`${hostile}\n`)
    // Every other value is a quoted string, a boolean, or opens a block.
    for (const line of text.split('\n').filter((found) => /: /.test(found) && !/!unsafe/.test(found))) {
      expect(line).toMatch(/: (".*"|true|false)$/)
    }
  })
})
