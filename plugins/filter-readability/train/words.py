"""Writes src/words.rs: the word lists of src/lexicon.rs, sorted."""
import sys

HINTS = {
    "NavWord": "nav navbar navigation menu menubar menus navi subnav topnav sitenav gnb lnb mainnav megamenu dropdown submenu hamburger offcanvas drawer",
    "CrumbWord": "breadcrumb breadcrumbs crumb crumbs",
    "PagerWord": "pagination pager paging pagenav paginator prev previous next",
    "TocWord": "toc contents tableofcontents outline scrollspy",
    "FooterWord": "footer foot colophon bottom siteinfo subfooter footerlinks",
    "HeaderWord": "header head masthead topbar top banner toolbar appbar",
    "SideWord": "sidebar aside rail side secondary sidenav leftcol rightcol sidecol complementary right left",
    "CommentWord": "comment comments commentlist disqus respond reply replies commenter commentary discuss",
    "RelatedWord": "related recommend recommended recommendation recommendations similar popular trending suggested suggestions upsell crosssell also readnext latest recent mostread outbrain taboola more recirc morefrom",
    "ShareWord": "share sharing shares social socials follow facebook twitter linkedin pinterest whatsapp sharethis addthis instagram addtoany",
    "PromoWord": "promo promos promotion ad ads advert adverts advertisement advertising sponsor sponsored sponsors dfp gpt cta callout affiliate marketing offer offers",
    "SignupWord": "newsletter subscribe subscription signup optin mailchimp mailing mailinglist paywall",
    "CookieWord": "cookie cookies consent gdpr onetrust ccpa cookiebar cookiebot",
    "MetaWord": "meta date time timestamp byline dateline published pubdate posted updated stats info details datepublished datemodified entrymeta postmeta",
    "AuthorWord": "author authors bio avatar profile user username member writer contributor",
    "TagWord": "tag tags category categories cat label labels badge topics keywords chip chips",
    "BodyWord": "content contents body text story copy prose markdown rich richtext rte wysiwyg richtextbox article articlebody maincontent article entrycontent mw parser bodytext articletext paragraph description desc summary abstract excerpt main document doc docs readme",
    "PostWord": "post posts entry blog blogpost hentry single postcontent postbody news",
    "TopicWord": "thread threads topic message messages forum discussion question answer answers cooked bbs qa post messagebody questions op firstpost",
    "ProductWord": "product products pdp sku specification specifications specs spec variant variants model item goods attributes attribute productdescription ingredients buybox",
    "PriceWord": "price prices pricing cost cart basket checkout buy addtocart purchase wishlist stock quantity qty shipping",
    "ReviewWord": "review reviews rating ratings stars star testimonial testimonials feedback",
    "ListWord": "list listing listings grid results result feed stream archive collection items catalog catalogue loop directory index table",
    "CardWord": "card cards tile tiles teaser teasers thumb thumbnail thumbnails slide slider carousel swiper slick",
    "HeroWord": "hero jumbotron intro lead lede standfirst headline tagline subtitle subheading subhead kicker dek",
    "TitleWord": "title heading headings name h",
    "SectionWord": "section sections block row column col container wrapper wrap panel module layout region",
    "FeatureWord": "feature features benefits benefit services service solution solutions about team process steps step stat counter",
    "FaqWord": "faq faqs accordion accordions collapse collapsible toggle tab tabs tabpanel",
    "LegalWord": "copyright legal disclaimer terms privacy rights policy license notice",
    "AuthWord": "login signin account register logout logged auth",
    "SearchWord": "search searchbar searchform filter filters facet facets sort sorting refine searchbox",
    "LangWord": "lang language languages locale country currency translate region",
    "SkipWord": "skip skiplink sr visually hidden screenreader screen accessibility offscreen hide invisible print noprint assistive",
    "MediaWord": "image images img figure video gallery media photo photos picture caption captions credit credits player audio wp lightbox",
    "CodeWord": "code highlight hljs snippet syntax codeblock sourcecode prism console terminal",
    "WidgetWord": "widget widgets tool tools plugin addon sticky floating fixed",
    "ModalWord": "modal popup overlay dialog lightbox tooltip popover toast alert notification notifications snackbar",
    "ButtonWord": "button buttons btn btns link links action actions controls control",
}
TOPICS = {
    "Legal": "copyright rights reserved terms privacy policy disclaimer conditions trademark trademarks legal imprint impressum datenschutz",
    "Cookie": "cookie cookies consent gdpr",
    "Subscribe": "subscribe newsletter signup email inbox unsubscribe mailing subscription",
    "Auth": "login log sign register account password forgot signin logout username",
    "Share": "share tweet facebook twitter linkedin pinterest whatsapp instagram youtube follow reddit telegram tiktok copy link",
    "Related": "related recommended similar popular trending latest also recent featured more next previous prev recently viewed",
    "Action": "read learn view see shop buy add cart get start book contact download try click continue checkout explore discover show load close open",
    "Comment": "comment comments reply replies respond leave quote like likes report flag",
    "Meta": "by posted published updated author written min ago views edited joined member members location messages registered minutes hours days",
    "Date": "january february march april june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday am pm",
    "Commerce": "price sale shipping stock delivery returns review reviews rating stars qty quantity sku off save discount free order warranty usd",
    "Site": "home about menu search faq help support careers blog news press sitemap services products company team events resources main skip content navigation",
    "Content": "step overview description features details specifications ingredients introduction conclusion summary example question answer how what why guide",
    "Ad": "advertisement sponsored ad ads promoted affiliate advertising",
    "Sort": "filter sort showing results items clear apply page pages categories category tags topics size color",
    "Bio": "writer journalist editor reporter freelance founder ceo director contributor he his her degree university years experience covers lives passionate graduate holds professor expert specializing certified bio biography columnist",
    "Appeal": "donate donation nonprofit mission commission earn endorsement disclosure partners advice opinions informational purposes responsible guarantee liability warranties subject applicable eligible policies trusted",
    "Own": "i my me im ive mine thanks thank lol hi hello hey great awesome love anyone wondering",
    "Common": ("the of and to in is that it for on with as was be this are or from at which have has not but they we you can will an if their there been would when all one so do its than "
               "de la el en los las que del por una con para es se un como más le les des et est dans pour une sur pas qui au du plus ce "
               "der die das und ist nicht den dem mit von für auf ein eine im zu sich auch wird sie bei als "
               "il di che non per sono della con da nel si gli "
               "o os um uma não na no do dos ao mais "
               "het een van dat niet zijn voor met op te "
               "och att det som på är av för inte till med "
               "i w nie na z się do jest to że"),
}

def table(name, kind, groups):
    words = {}
    for group, text in groups.items():
        for word in text.split():
            words.setdefault(word, group)
    rows = [f'("{word}", {kind}::{group}),' for word, group in sorted(words.items(), key=lambda row: row[0].encode())]
    out = [f"/// {name}", f"const {kind.upper()}_WORDS: &[(&str, {kind})] = &["]
    return "\n".join(out + ["    " + " ".join(rows[at:at + 5]) for at in range(0, len(rows), 5)] + ["];"])

def main():
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("// Generated by train/words.py.\n\n")
        file.write(table("Words of class names and ids, in order.", "Hint", HINTS) + "\n\n")
        file.write(table("Words of running text, in order.", "Topic", TOPICS) + "\n")

main()
