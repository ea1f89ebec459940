import { describe, expect, it } from 'vitest'
import { quoted, shellWord } from './quoting'

describe('quoting', () => {
  it('leaves plain words and makes one word of all others', () => {
    expect(shellWord('tsj_Ab-9')).toBe('tsj_Ab-9')
    expect(shellWord('a b')).toBe("'a b'")
    expect(shellWord('$(id)')).toBe("'$(id)'")
    expect(shellWord("it's")).toBe("'it'\\''s'")
    expect(shellWord('')).toBe("''")
  })

  it('ends no string of TOML or YAML early', () => {
    for (const text of ['plain', 'with "quotes"', 'back\\slash', 'new\nline', 'key: value # no comment', '{{ x }}']) {
      expect(quoted(text).slice(1, -1)).not.toMatch(/\n/)
      expect(JSON.parse(quoted(text))).toBe(text)
    }
  })
})
