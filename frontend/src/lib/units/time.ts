/** Times: the API speaks UTC, people read their own zone with its name, and UTC is one hover away. */

const relativePattern = /^-(\d{1,4})(m|h|d)$/
const unitSeconds: Record<string, number> = { m: 60, h: 3600, d: 86400 }

/** Seconds of a relative time such as `-6h`; null when the text is not one. */
export function relativeSeconds(text: string): number | null {
  const match = relativePattern.exec(text)
  if (match === null) return null
  const seconds = Number(match[1]) * (unitSeconds[match[2] ?? ''] ?? 0)
  return seconds > 0 ? seconds : null
}

/** `-6h` as words: `last 6 hours`; null when the text is not a relative time. */
export function relativeLabel(text: string): string | null {
  const match = relativePattern.exec(text)
  if (match === null) return null
  const count = Number(match[1])
  const noun = { m: 'minute', h: 'hour', d: 'day' }[match[2] ?? '']
  return count === 1 ? `last ${noun}` : `last ${count} ${noun}s`
}

/** True for a time that the API takes: relative, or RFC 3339 with a zone. */
export function isTime(text: string): boolean {
  if (relativeSeconds(text) !== null) return true
  return (
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text) && !Number.isNaN(Date.parse(text))
  )
}

const pad = (value: number): string => String(value).padStart(2, '0')

/** The viewer's wall clock as Plotly wants it (it knows no zones): `2026-11-21 03:04:05`. */
export function plotTime(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000)
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}

/** The inverse of plotTime, also for the shorter texts that Plotly hands back (`2026-11-21`, `… 03:04`). */
export function plotTimeSeconds(text: string): number {
  const [day = '', clock = '00:00:00'] = text.split(' ')
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  const [hours = 0, minutes = 0, seconds = 0] = clock.split(':').map(Number)
  return new Date(year, month - 1, date, hours, minutes, 0).getTime() / 1000 + seconds
}

// Made once: to make one takes longer than to use it a hundred times.
const zoneFormat = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
const clockFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const momentFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})

/** The name of the viewer's zone at that moment, such as `CET` or `UTC`. */
export function zoneName(at: Date): string {
  return zoneFormat.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? 'local'
}

/** `21 Nov 2026, 03:04` in the viewer's zone. */
export function formatLocal(at: Date): string {
  return momentFormat.format(at)
}

/** `21 Nov 2026` in the viewer's zone. */
export function formatDay(at: Date): string {
  return dayFormat.format(at)
}

/** `03:04` in the viewer's zone. */
export function formatClock(at: Date): string {
  return clockFormat.format(at)
}

/** `2026-11-21 03:04:05 UTC`. */
export function formatUtc(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** A stretch of time in the viewer's zone; the day is not repeated when both ends share it. */
export function formatWindow(start: Date, end: Date): string {
  const sameDay = start.toDateString() === end.toDateString()
  const tail = sameDay ? formatClock(end) : formatLocal(end)
  return `${formatLocal(start)} – ${tail} ${zoneName(end)}`
}

/** A length of time in its largest fitting units: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min`
  if (whole < 86400) {
    const minutes = Math.floor((whole % 3600) / 60)
    return minutes === 0 ? `${Math.floor(whole / 3600)} h` : `${Math.floor(whole / 3600)} h ${minutes} min`
  }
  const hours = Math.floor((whole % 86400) / 3600)
  return hours === 0 ? `${Math.floor(whole / 86400)} d` : `${Math.floor(whole / 86400)} d ${hours} h`
}

/** How long ago a moment was, seen from `now`; moments in the future by clock skew read `just now`. */
export function formatAgo(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000
  return seconds < 5 ? 'just now' : `${formatDuration(seconds)} ago`
}

/** RFC 3339 in UTC to the second, for the URL and the API. */
export function toRfc3339(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`
}

/** A Date as the value of an `<input type="datetime-local">`, in the viewer's zone. */
export function toLocalInput(at: Date): string {
  return plotTime(at.getTime() / 1000)
    .slice(0, 16)
    .replace(' ', 'T')
}
