"""What pages tell: one quantity of one subject and window has one value on all of them.

So has the verdict on a host or a service, the value of a setting, and what stands beside a label: a reader knows no
definitions, so figures with the same words for one subject and window read alike. What is asked for over and over may
change between two pages: a page is held against another only where each said its own twice, before and after.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from playwright.sync_api import Page

Said = tuple[str, str, str, str]
"""What it is (figure, label, verdict, setting), its subject, its name, and its window."""

# The subject is what the row links to, else what the page is about; a row without a link tells of a part of it.
_READ = """() => {
  const about = (path) => /^\\/(hosts|services)\\/[^/]+/.exec(path)?.[0] ?? null
  const page = about(location.pathname)
  const subjectOf = (node, withPart) => {
    const row = node.closest('tr')
    if (row === null) return page ?? 'fleet'
    const linked = [...row.querySelectorAll('a')].map((link) => about(new URL(link.href).pathname)).find(Boolean)
    const noun = (subject) => subject.split('/')[1]
    if (linked && page && noun(linked) !== noun(page)) return [linked, page].sort().join(' ')
    if (linked) return linked
    const part = withPart ? ` ${row.closest('table').getAttribute('aria-label')}: ${row.cells[0].innerText}` : ''
    return `${page ?? 'fleet'}${part}`
  }
  // As it is read: the words beside a figure, and the figure with its unit, which a column may say for all of it.
  const words = (text) => text.replace(/\\s+/g, ' ').trim()
  const labelled = (node) => {
    const cell = node.closest('td')
    if (cell === null) {
      const [label, value] = ['label', 'value'].map((part) => node.querySelector(`[class*=_${part}_]`))
      const parts = [...(label?.childNodes ?? [])].filter((part) => !String(part.className).includes('_grade_'))
      return label && value ? [words(parts.map((part) => part.textContent).join('')), words(value.innerText)] : null
    }
    const head = cell.closest('table').querySelectorAll('thead th')[cell.cellIndex]
    const [, label, unit] = /^(.*?)(?: (\\S+\\/s))?$/.exec(words(head.innerText))
    return [label, words(`${node.innerText} ${(node.querySelector('[data-nothing]') ? null : unit) ?? ''}`)]
  }
  const all = (selector) => [...document.querySelectorAll(selector)]
  return [
    ...all('[data-testid^=figure-][data-value]').map((node) =>
      ['figure', subjectOf(node, true), node.dataset.testid, node.dataset.window, node.dataset.value]),
    ...all('[data-testid^=figure-][data-value]').flatMap((node) => {
      const said = labelled(node)
      return said ? [['label', subjectOf(node, true), said[0], node.dataset.window, said[1]]] : []
    }),
    ...all('[data-verdict]').map((node) =>
      ['verdict', subjectOf(node, true), 'verdict', node.dataset.window, node.dataset.verdict]),
    ...all('[data-setting]').map((node) =>
      ['setting', subjectOf(node, false), node.dataset.setting, 'now', node.dataset.value]),
  ]
}"""


@dataclass
class Told:
    """What each page said: values by page, of each thing that is told."""

    values: dict[Said, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def read(self, page: Page, path: str) -> None:
        for kind, subject, name, window, value in page.evaluate(_READ):
            self.values[kind, subject, name, window][path].add(_rounded(value))

    def shared(self) -> dict[Said, dict[str, set[str]]]:
        """What more than one page tells."""
        return {said: by_page for said, by_page in self.values.items() if len(by_page) > 1}

    def apart(self) -> dict[Said, dict[str, set[str]]]:
        """Things of which the pages tell nothing in common.

        A page with several values tells them of parts, too; one of them is that of the whole.
        """
        return {said: by_page for said, by_page in self.shared().items() if not set.intersection(*by_page.values())}


def contradictions(first: Told, second: Told) -> list[str]:
    """Things of which pages tell nothing in common in the first walk, while none of them changed until the second."""
    found = []
    for said, before in first.apart().items():
        after = second.values.get(said, {})
        steady = {path: values for path, values in before.items() if after.get(path) == values}
        if len(steady) > 1 and not set.intersection(*steady.values()):
            found.append(f"{said}: {steady}")
    return found


def _rounded(value: str) -> str:
    try:
        return f"{float(value):.9g}"
    except ValueError:
        return value
