async function pageFunction(context) {
  /* actions */
  const body = context.page ? await context.page.content() : context.body;
  const isText = typeof body === 'string';
  const { status, headers } = context.response ?? {};
  return {
    url: context.request.loadedUrl,
    status,
    headers,
    encoding: isText ? 'text' : 'base64',
    body: isText ? body : Buffer.from(body).toString('base64'),
  };
}
