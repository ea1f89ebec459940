/** Hand what a URL (data: or blob:) holds to the viewer as a file. */
export function downloadUrl(fileName: string, url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
}

/** Hand a text to the viewer as a file. */
export function downloadText(fileName: string, text: string, mediaType: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }))
  downloadUrl(fileName, url)
  URL.revokeObjectURL(url)
}
