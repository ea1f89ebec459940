/** What is needed of an event to place it; the ids say what it happened to, both null means the whole fleet. */
interface Placed {
  at: string
  host_id: string | null
  service_id: string | null
}

/** What a page is about: its services and hosts. The fleet page is about everything. */
export type EventSubject = { services: string[]; hosts: string[] } | 'fleet'

/** The events that concern a page, oldest first: its own, those of the hosts it runs on, and those of the fleet. */
export function relevantEvents<T extends Placed>(events: T[], subject: EventSubject): T[] {
  const concerns = (event: T): boolean => {
    if (subject === 'fleet' || (event.host_id === null && event.service_id === null)) return true
    const onHost = event.host_id === null || subject.hosts.includes(event.host_id)
    const ofService = event.service_id === null || subject.services.includes(event.service_id)
    return onHost && ofService
  }
  return events.filter(concerns).sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}
