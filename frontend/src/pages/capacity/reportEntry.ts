import type { ReportRequest } from '../../api/_generated/schema'

/** What a report can hold, in words. */
export const reportSections = [
  { value: 'capacity', label: 'Capacity' },
  { value: 'advice', label: 'Advice' },
  { value: 'alerts', label: 'Alerts' },
] as const

/** What the form of a scheduled report holds. Empty number fields are texts. */
export interface ReportEntry {
  name: string
  everyDays: number | string
  at: string
  format: ReportRequest['format']
  sections: ReportRequest['sections']
  mail: string
  webhook: string
}

/** The form as it opens: everything, weekly in the morning. */
export const blankReport: ReportEntry = {
  name: 'Weekly report',
  everyDays: 7,
  at: '07:00',
  format: 'both',
  sections: ['capacity', 'advice', 'alerts'],
  mail: '',
  webhook: '',
}

/** Addresses as typed, one after the other with commas, spaces or lines between. */
function addressesOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((address) => address !== '')
}

/** The request of a form; null while something is missing or cannot be. */
export function reportRequestOf(entry: ReportEntry): ReportRequest | null {
  const days = entry.everyDays === '' ? NaN : Number(entry.everyDays)
  const mail = addressesOf(entry.mail)
  const webhook = entry.webhook.trim()
  const complete = entry.name.trim() !== '' && entry.sections.length > 0 && (mail.length > 0 || webhook !== '')
  if (!complete || !Number.isInteger(days) || days < 1 || days > 366) return null
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(entry.at) || mail.some((address) => !/^[^@]+@[^@]+$/.test(address))) return null
  return {
    name: entry.name.trim(),
    every_days: days,
    at: entry.at,
    format: entry.format,
    to: { mail, webhook: webhook === '' ? null : webhook },
    sections: entry.sections,
  }
}
