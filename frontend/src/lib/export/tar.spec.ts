import { expect, it } from 'vitest'
import { tarOf, type ArchiveFile } from './tar'

const block = 512
const longName = `rollback/${'a'.repeat(60)}/from-1000/systemd/tierscope-${'b'.repeat(50)}.service`

/** Reads an archive by the offsets of POSIX ustar, and checks each header's sum. */
function untar(archive: Uint8Array): ArchiveFile[] {
  const text = (from: number, length: number) =>
    new TextDecoder().decode(archive.slice(from, from + length)).replace(/\0.*$/s, '')
  const files = []
  let at = 0
  while (archive[at] !== 0) {
    const header = archive.slice(at, at + block)
    const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0)
    expect(parseInt(text(at + 148, 8), 8)).toBe(sum)
    expect(text(at + 257, 5)).toBe('ustar')
    const bytes = parseInt(text(at + 124, 12), 8)
    const prefix = text(at + 345, 155)
    files.push({
      name: (prefix === '' ? '' : `${prefix}/`) + text(at, 100),
      text: new TextDecoder().decode(archive.slice(at + block, at + block + bytes)),
    })
    at += block + Math.ceil(bytes / block) * block
  }
  expect(archive.length).toBe(at + 2 * block)
  return files
}

it('holds files of any length under long paths, whole', () => {
  const files = [
    { name: 'README.txt', text: 'read me\n' },
    { name: 'apply/empty.conf', text: '' },
    { name: 'apply/block.conf', text: 'x'.repeat(block) },
    { name: longName, text: 'ExecStart=\u00e9\n' },
  ]
  expect(longName.length).toBeGreaterThan(100)
  expect(untar(tarOf(files, new Date('2026-11-21T03:00:00Z')))).toEqual(files)
})

it('refuses a path that no header holds', () => {
  expect(() => tarOf([{ name: 'a'.repeat(101), text: '' }], new Date(0))).toThrow(RangeError)
})
