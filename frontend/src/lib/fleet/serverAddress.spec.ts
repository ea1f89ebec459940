import { describe, expect, it } from 'vitest'
import { isLoopbackHost, offeredServer, readServer } from './serverAddress'

describe('the address that agents send to', () => {
  it('knows which names only the machine itself reaches', () => {
    for (const host of ['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.8.8.8', '::1', '[::1]']) {
      expect(isLoopbackHost(host), host).toBe(true)
    }
    for (const host of ['tierscope.example', '127.example', '10.0.0.1', '0.0.0.0', 'localhost.example']) {
      expect(isLoopbackHost(host), host).toBe(false)
    }
  })

  it('is read as agents read it', () => {
    expect(readServer(' https://tierscope.example/ ')).toEqual({
      base: 'https://tierscope.example',
      isLoopback: false,
      needsAllowHttp: false,
    })
    expect(readServer('http://10.0.0.7:8480')).toMatchObject({ isLoopback: false, needsAllowHttp: true })
    expect(readServer('http://127.0.0.1:8480')).toMatchObject({ isLoopback: true, needsAllowHttp: false })
    expect(readServer('https://[2001:db8::1]:8480/tier')).toMatchObject({ base: 'https://[2001:db8::1]:8480/tier' })
  })

  it('says what is wrong, and lets nothing through that a shell or a settings file would read', () => {
    for (const typed of [
      '',
      'tierscope.example',
      'ftp://a',
      'https://',
      'https://a b',
      "https://a'b",
      'https://a$(id)',
      'https://u@h',
      'https://a?b',
    ]) {
      expect(readServer(typed), typed).toBeTypeOf('string')
    }
  })

  it('is the one that the service is set to, else the one of this page', () => {
    expect(offeredServer('http://127.0.0.1:8480', 'https://tierscope.example/')).toBe('https://tierscope.example')
    expect(offeredServer('https://tier.example:8480', null)).toBe('https://tier.example:8480')
    expect(offeredServer('https://tier.example', undefined)).toBe('https://tier.example')
  })
})
