// Finds pages by their words: title first, then how often each word of the question occurs. The index is one file.
const script = document.currentScript
const field = document.getElementById('search')
const list = document.getElementById('found')
const most = 12
let index

async function pages() {
  index ??= fetch(`${script.dataset.top}/search.json`).then((answer) => answer.json())
  return index
}

function score(page, words) {
  const title = page.title.toLowerCase()
  const text = page.words.toLowerCase()
  let sum = 0
  for (const word of words) {
    const here = Math.min(text.split(word).length - 1, 20) + (title.includes(word) ? 50 : 0)
    if (here === 0) return 0
    sum += here
  }
  return sum
}

async function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
  const all = words.length === 0 ? [] : await pages()
  const found = all
    .map((page) => ({ page, score: score(page, words) }))
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
  list.replaceChildren(
    ...found.map(({ page }) => {
      const link = document.createElement('a')
      link.href = `${script.dataset.top}/${page.address}`
      link.textContent = page.title
      const item = document.createElement('li')
      item.append(link)
      return item
    }),
  )
  if (words.length > 0 && found.length === 0) list.textContent = 'No page has all of these words.'
}

field.addEventListener('input', show)
