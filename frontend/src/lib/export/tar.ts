/** Texts as one tar archive (POSIX ustar), so that a set of files is one download. */

const blockBytes = 512
const mostName = 100
const mostPrefix = 155

/** A file of an archive by its path, with `/` between folders. */
export interface ArchiveFile {
  name: string
  text: string
}

/** The archive of these files, modified at `at`. Throws RangeError on a path that no header holds. */
export function tarOf(files: ArchiveFile[], at: Date): Uint8Array<ArrayBuffer> {
  const parts = files.flatMap(({ name, text }) => {
    const body = new TextEncoder().encode(text)
    const padding = (blockBytes - (body.length % blockBytes)) % blockBytes
    return [headerOf(name, body.length, at), body, new Uint8Array(padding)]
  })
  parts.push(new Uint8Array(2 * blockBytes))
  const archive = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    archive.set(part, offset)
    offset += part.length
  }
  return archive
}

function headerOf(path: string, bytes: number, at: Date): Uint8Array {
  const header = new Uint8Array(blockBytes)
  const put = (offset: number, value: string) => header.set(new TextEncoder().encode(value), offset)
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  const { prefix, name } = splitPath(path)
  put(0, name)
  put(100, `${octal(0o644, 7)}\0`)
  put(108, `${octal(0, 7)}\0`)
  put(116, `${octal(0, 7)}\0`)
  put(124, `${octal(bytes, 11)}\0`)
  put(136, `${octal(Math.floor(at.getTime() / 1000), 11)}\0`)
  put(148, ' '.repeat(8))
  put(156, '0')
  put(257, 'ustar\u000000')
  put(345, prefix)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(148, `${octal(sum, 6)}\0 `)
  return header
}

/** A header holds the end of a path and what is before it in fields of their own. */
function splitPath(path: string): { prefix: string; name: string } {
  if (path.length <= mostName) return { prefix: '', name: path }
  const cut = path.indexOf('/', path.length - mostName - 1)
  if (cut < 0 || cut > mostPrefix) throw new RangeError(`${path} is too long for an archive`)
  return { prefix: path.slice(0, cut), name: path.slice(cut + 1) }
}
