import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { EventItem } from '../api/_generated/schema'
import { problem, recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const events = recorded('/v1/events').items
const anonymous = recorded('/v1/session', '', 'as=anonymous')
const session = recorded('/v1/session')

/** The app at a path, with events that can be written, for whoever is logged in. */
function openWriting(path: string, who = session) {
  const stored: EventItem[] = [...events]
  const sent: Record<string, unknown>[] = []
  openApp(path, async (url, request) => {
    if (url.pathname === '/v1/session') return Response.json(who)
    if (url.pathname === '/v1/events' && request.method === 'POST') {
      const body = (await request.json()) as { text: string; at: string | null }
      sent.push(body)
      if (body.text === 'refused') return problem(422, 'The text is refused.', 'Write another.')
      const at = body.at ?? new Date().toISOString()
      stored.unshift({ id: '9', kind: 'note', host_id: null, service_id: null, author: 'ana', ...body, at })
      return Response.json(stored[0], { status: 201 })
    }
    if (url.pathname.startsWith('/v1/events/') && request.method === 'DELETE') {
      stored.splice(
        stored.findIndex(({ id }) => url.pathname.endsWith(`/${id}`)),
        1,
      )
      return new Response(null, { status: 204 })
    }
    return url.pathname === '/v1/events' ? Response.json({ items: stored, next_cursor: null }) : undefined
  })
  return sent
}

async function openEvents() {
  await userEvent.click(await screen.findByRole('button', { name: /^\d+ events?$/ }))
  return screen.findByRole('list', { name: 'Events, newest first' })
}

describe('a note', () => {
  it('is put on now, for the host of the page, and listed at once with its author', async () => {
    const sent = openWriting('/hosts/h-1')
    await openEvents()
    await userEvent.click(screen.getByRole('button', { name: 'Add a note' }))
    const form = await screen.findByRole('form', { name: 'Add a note' })
    await userEvent.type(within(form).getByLabelText('Note'), 'fan replaced')
    await userEvent.click(within(form).getByRole('button', { name: 'Save note' }))
    await waitFor(() => expect(screen.queryByRole('form', { name: 'Add a note' })).toBeNull())
    expect(sent).toEqual([{ text: 'fan replaced', at: null, host_id: 'h-1', service_id: null, kind: 'note' }])
    const item = within(await openEvents())
      .getByText('fan replaced')
      .closest('li')
    expect(item?.textContent).toContain('by ana')
  })

  it('is put on the time of a Shift-click on a chart, for the fleet if so chosen', async () => {
    const sent = openWriting('/hosts/h-1?tab=moves')
    fireEvent.click(await screen.findByRole('img', { name: 'Tier moves over time' }), { shiftKey: true })
    const form = await screen.findByRole('form', { name: 'Add a note' })
    expect(within(form).getByLabelText<HTMLInputElement>(/^Time/).value).toBe('2026-11-20T12:34')
    await userEvent.type(within(form).getByLabelText('Note'), 'rack moved')
    await userEvent.click(within(form).getByRole('radio', { name: 'Whole fleet' }))
    await userEvent.click(within(form).getByRole('button', { name: 'Save note' }))
    await waitFor(() => expect(sent).toHaveLength(1))
    const at = new Date('2026-11-20T12:34').toISOString()
    expect(sent[0]).toMatchObject({ host_id: null, service_id: null })
    expect(new Date(String(sent[0]?.['at'])).toISOString()).toBe(at)
  })

  it('says why it was refused, and keeps what was written', async () => {
    openWriting('/')
    await openEvents()
    await userEvent.click(screen.getByRole('button', { name: 'Add a note' }))
    const form = await screen.findByRole('form', { name: 'Add a note' })
    expect(within(form).queryByRole('radio')).toBeNull()
    await userEvent.type(within(form).getByLabelText('Note'), 'refused{Tab}')
    await userEvent.click(within(form).getByRole('button', { name: 'Save note' }))
    expect((await within(form).findByRole('alert')).textContent).toContain('The text is refused.')
    expect(within(form).getByLabelText<HTMLTextAreaElement>('Note').value).toBe('refused')
  })

  it('is deleted after asking; events of pipelines are not deleted here', async () => {
    openWriting('/')
    const list = await openEvents()
    expect(within(list).getAllByRole('button')).toHaveLength(1)
    await userEvent.click(within(list).getByRole('button', { name: /^Delete the note/ }))
    await userEvent.click(within(list).getByRole('button', { name: 'Delete note' }))
    await waitFor(() => expect(within(list).queryByText(events[0]?.text ?? '')).toBeNull())
  })

  it('is not offered to those who only read, who are told why', async () => {
    openWriting('/hosts/h-1?tab=moves', anonymous)
    const list = await openEvents()
    expect(screen.getByText('To add a note, log in as an operator.')).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Add a note' })).toBeNull()
    expect(within(list).queryByRole('button')).toBeNull()
    fireEvent.click(screen.getByRole('img', { name: 'Tier moves over time' }), { shiftKey: true })
    expect(screen.queryByRole('form', { name: 'Add a note' })).toBeNull()
  })

  it('is offered for a service to members of the team that owns it', async () => {
    const member = { ...session, role: 'viewer' as const, permissions: anonymous.permissions }
    openWriting('/services/svc-redis', { ...member, owner_permissions: ['write:events'] })
    await openEvents()
    await userEvent.click(await screen.findByRole('button', { name: 'Add a note' }))
    const form = await screen.findByRole('form', { name: 'Add a note' })
    expect(within(form).getByRole('radio', { name: 'Whole fleet' })).toHaveProperty('disabled', true)
    expect(within(form).getByRole('radio', { name: 'This service' })).toHaveProperty('checked', true)
  })
})
