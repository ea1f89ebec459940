import { describe, expect, it } from 'vitest'
import { middleCut, plotText } from '../text/escape'
import { csvCell, safeFileName, toCsv } from './csv'

describe('CSV', () => {
  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx'])('defuses the formula %j', (text) => {
    expect(csvCell(text).replace(/^"/, '')).toMatch(/^'/)
  })

  it('leaves negative numbers numbers', () => expect(csvCell(-3.5)).toBe('-3.5'))

  it('keeps an absent value empty and a zero a zero', () => {
    expect(csvCell(null)).toBe('')
    expect(csvCell(0)).toBe('0')
  })

  it('quotes commas, quotes and line ends', () => {
    expect(csvCell('a,b')).toBe('"a,b"')
    expect(csvCell('say "x"')).toBe('"say ""x"""')
    expect(csvCell('=HYPERLINK("http://x","y")')).toBe('"\'=HYPERLINK(""http://x"",""y"")"')
  })

  it('writes a header and CRLF line ends', () => {
    expect(
      toCsv({
        columns: ['a', 'b'],
        rows: [
          [1, null],
          ['x', 2],
        ],
      }),
    ).toBe('a,b\r\n1,\r\nx,2\r\n')
  })

  it('makes harmless file names', () => {
    expect(safeFileName('../../etc/pass wd')).toBe('etc-pass-wd')
    expect(safeFileName('…')).toBe('tierscope')
  })
})

describe('names in Plotly labels', () => {
  it('hold no markup and no template variables', () => {
    const text = plotText('<a href="javascript:x">%{y}</a>&')
    expect(text).not.toMatch(/[<>]/)
    expect(text).not.toContain('%{')
    expect(text).toContain('&amp;')
  })

  it('are shortened in the middle', () => {
    expect(middleCut('short', 10)).toBe('short')
    expect(middleCut('a-very-long-service-name', 11)).toBe('a-ver…-name')
  })
})
